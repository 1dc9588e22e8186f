"""Planted errors: does a review name them?"""
