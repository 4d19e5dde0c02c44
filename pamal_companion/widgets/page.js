// A widget in a page of the book: its model, and its state in the page's address.

/** What anywidget calls a model, for a page without a kernel. @param {Object} values by name */
function plainModel(values) {
  const listeners = {};
  return {
    get: (name) => values[name],
    set: (name, value) => {
      values[name] = value;
      (listeners[`change:${name}`] ?? []).forEach((f) => f());
    },
    on: (event, f) => { (listeners[event] ??= []).push(f); },
    save_changes: () => {},
  };
}

/** The address of a widget that is not in a page of the book: it keeps nothing. */
const NO_ADDRESS = { read: () => ({}), write: () => {} };

/** The state of widget `id` in the page's address: "#anchor&id.name=value&...". The anchor is the
 * page's own, and every widget reads and writes only what begins with its id. */
function widgetAddress(id) {
  const parts = () => {
    const [anchor, ...states] = location.hash.slice(1).split("&");
    return [anchor, [...new URLSearchParams(states.join("&"))]];
  };
  const isOwn = ([key]) => key.startsWith(`${id}.`);
  let timer;
  return {
    anchor: () => parts()[0],
    isFirst: () => parts()[1].findIndex(isOwn) === 0,
    read: () => Object.fromEntries(parts()[1].filter(isOwn)
      .map(([key, value]) => [key.slice(id.length + 1), value])),
    /** @param {Object<string, string>} state what differs from how the widget starts */
    write: (state) => {
      clearTimeout(timer);
      timer = setTimeout(() => { // once it rests: browsers allow few changes a second
        const [anchor, all] = parts();
        const own = Object.entries(state).map(([name, value]) => [`${id}.${name}`, value]);
        const text = new URLSearchParams([...all.filter((pair) => !isOwn(pair)), ...own]).toString()
          .replaceAll("%2C", ",").replaceAll("%2F", "/");
        if (!text && !location.hash) return;
        history.replaceState(history.state, "", `#${anchor}${text && `&${text}`}`);
      }, 300);
    },
  };
}

/** Puts a widget into the page's element `id`, whose values are JSON in the element `id`-data, in
 * the state that the address names. The element keeps its model as `widgetModel`. JupyterLab keeps
 * its address for itself. */
function mount(widget, id) {
  const el = document.getElementById(id);
  const values = JSON.parse(document.getElementById(`${id}-data`).textContent);
  const isBook = !document.body.hasAttribute("data-jp-theme-light");
  const address = isBook ? widgetAddress(id) : NO_ADDRESS;
  const render = () => {
    el.widgetModel = plainModel({ ...values });
    el.replaceChildren();
    widget.render({ model: el.widgetModel, el, address });
    el.append(h("div", { class: "pw-foot" }, ...(isBook ? [copyButton("Copy link", () => location.href)] : []),
      fullScreenButton(el)));
    el.classList.add("pw-ready");
  };
  const scroll = () => {
    if (address.isFirst()) (document.getElementById(address.anchor()) ?? el).scrollIntoView();
  };
  render();
  if (!isBook) return;
  addEventListener("DOMContentLoaded", scroll);
  addEventListener("hashchange", () => { // another address was opened in this page
    if (!Object.keys(address.read()).length) return;
    render();
    scroll();
  });
}
