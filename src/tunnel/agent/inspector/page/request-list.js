import { byId, element } from './element.js';
import { durationText, sizeText, statusOf } from './format.js';

const MAX_ROWS = 500;

/** The list of requests, newest first. Rows keep their elements, so that focus and scroll position survive. */
export class RequestList {
  #rows = new Map();
  #requests = new Map();
  #onChoose;
  #chosen = null;

  constructor(onChoose) {
    this.#onChoose = onChoose;
    byId('requests').addEventListener('keydown', (event) => this.#onKey(event));
  }

  get size() {
    return this.#rows.size;
  }

  newest() {
    return this.#rows.keys().next().value ?? null;
  }

  /** Replaces all rows, newest first. */
  replace(requests) {
    const old = this.#rows;
    this.#rows = new Map();
    this.#requests = new Map();
    for (const request of requests) {
      const row = old.get(request.id) ?? this.#row(request.id);
      this.#rows.set(request.id, row);
      this.#fill(row, request);
    }
    byId('requests').replaceChildren(...this.#rows.values());
    this.#markChosen();
  }

  /** Adds or updates requests, oldest first. */
  update(requests) {
    const fresh = [];
    for (const request of requests) {
      let row = this.#rows.get(request.id);
      if (row === undefined) {
        row = this.#row(request.id);
        fresh.unshift([request.id, row]);
      }
      this.#fill(row, request);
    }
    if (fresh.length === 0) return;
    byId('requests').prepend(...fresh.map(([, row]) => row));
    this.#rows = new Map([...fresh, ...this.#rows]);
    for (const id of [...this.#rows.keys()].slice(MAX_ROWS)) {
      this.#rows.get(id).remove();
      this.#rows.delete(id);
      this.#requests.delete(id);
    }
    this.#markChosen();
  }

  choose(id) {
    this.#chosen = id;
    this.#markChosen();
  }

  focusChosen() {
    const row = this.#rows.get(this.#chosen) ?? this.#rows.values().next().value;
    row?.firstChild.focus();
  }

  #row(id) {
    const button = element('button', { type: 'button', tabindex: '-1', onclick: () => this.#onChoose(id) });
    return element('li', {}, button);
  }

  #fill(row, request) {
    if (sameAs(this.#requests.get(request.id), request) && row.firstChild.hasChildNodes()) return;
    this.#requests.set(request.id, request);
    const [status, statusClass] = statusOf(request);
    const under = [new Date(request.started_at).toLocaleTimeString(), request.tunnel_name, request.host];
    if (request.response_bytes > 0) under.push(sizeText(request.response_bytes));
    if (request.is_websocket) under.push('WebSocket');
    if (request.replay_of !== null) under.push('replay');
    row.firstChild.replaceChildren(
      element('span', { class: `status ${statusClass}` }, status),
      element('span', { class: 'method' }, request.method),
      element('span', { class: 'path', title: request.path }, request.path),
      element('span', { class: 'took' }, durationText(request.duration_ms)),
      element('span', { class: 'under' }, under.join(' · ')),
    );
  }

  /** Tab reaches one row; the arrow keys reach the others. */
  #markChosen() {
    const reachable = this.#rows.has(this.#chosen) ? this.#chosen : this.newest();
    for (const [id, row] of this.#rows) {
      row.firstChild.tabIndex = id === reachable ? 0 : -1;
      if (id === this.#chosen) row.firstChild.setAttribute('aria-current', 'true');
      else row.firstChild.removeAttribute('aria-current');
    }
  }

  #onKey(event) {
    const row = event.target.closest('li');
    const { firstElementChild: first, lastElementChild: last } = byId('requests');
    const next = {
      ArrowDown: row?.nextElementSibling,
      ArrowUp: row?.previousElementSibling,
      Home: first,
      End: last,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    next?.firstChild.focus();
    next?.firstChild.click();
  }
}

function sameAs(a, b) {
  return a !== undefined && JSON.stringify(a) === JSON.stringify(b);
}
