/** An element. Everything that goes into it is text or another element: nothing from the network is ever read as HTML. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, '');
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

export function byId(id) {
  return document.getElementById(id);
}

/** Says that something went wrong, for a while. */
export function notify(message) {
  const notice = byId('notice');
  notice.textContent = message;
  notice.hidden = false;
  clearTimeout(notify.timer);
  notify.timer = setTimeout(() => {
    notice.hidden = true;
  }, 8000);
}
