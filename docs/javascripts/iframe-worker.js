// A page that is opened from the disk may start no worker. The search runs in one: here a hidden frame takes its place.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.documentElement.append(frame)
      this.inner = frame.contentWindow
      const worker = new URL(url, location)
      const load = (source) =>
        new Promise((done, failed) => {
          const script = this.inner.document.createElement("script")
          script.src = source
          script.onload = done
          script.onerror = failed
          this.inner.document.head.append(script)
        })
      this.inner.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => load(new URL(source, worker))), Promise.resolve())
      // what the worker says goes to the page, not to its own frame
      this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      this.ready = load(worker)
    }

    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data })))
    }

    terminate() {
      this.inner.frameElement.remove()
    }
  }
}
