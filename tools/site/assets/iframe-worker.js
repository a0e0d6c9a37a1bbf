// Search runs in a worker, which browsers refuse to pages that were opened from disk. There a frame takes its place: the
// same script, with a worker's postMessage, onmessage and importScripts.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = async (...scripts) => {
        for (const script of scripts) await load(inside, script);
      };
      load(inside, url).then(() => {
        this.inside = inside;
        for (const data of this.waiting) this.postMessage(data);
      });
    }
    postMessage(data) {
      if (this.inside) this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
      else this.waiting.push(data);
    }
  };
  const load = (inside, url) => new Promise((loaded, failed) => {
    const script = inside.document.createElement("script");
    Object.assign(script, { src: url, onload: loaded, onerror: failed });
    inside.document.body.append(script);
  });
}
