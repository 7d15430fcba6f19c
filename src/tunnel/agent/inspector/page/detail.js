import { bodyView } from './body-view.js';
import { byId, element } from './element.js';
import { durationText, statusOf } from './format.js';

/** Shows the selected request. `actions`: handlers of its buttons. */
export function showDetail(detail, actions) {
  const place = byId('detail');
  const [status, statusClass] = statusOf(detail);
  const focused = place.contains(document.activeElement) ? document.activeElement : null;
  place.replaceChildren(
    element('h2', {}, element('span', { class: `status ${statusClass}` }, status), ` ${detail.method} ${detail.path}`),
    facts(detail, actions),
    timing(detail),
    buttons(detail, actions),
    side('Request', detail.request, detail.id),
    detail.response === null ? pending(detail) : side('Response', detail.response, detail.id),
  );
  // The focused element was rendered again: keyboard users must not be sent back to the top.
  if (focused !== null) (sameButton(place, focused) ?? place).focus();
}

export function showNoDetail(words) {
  byId('detail').replaceChildren(element('p', { class: 'empty' }, words));
}

function facts(detail, actions) {
  const started = new Date(detail.started_at);
  const original =
    detail.replay_of === null
      ? null
      : element(
          'span',
          {},
          'replay of ',
          linkTo('an earlier request', () => actions.choose(detail.replay_of)),
        );
  return element(
    'div',
    { class: 'facts' },
    element('span', {}, detail.host),
    element('span', { class: 'quiet' }, `tunnel ${detail.tunnel_name}`),
    element('time', { class: 'quiet', datetime: detail.started_at }, started.toLocaleString()),
    detail.is_websocket ? element('span', {}, 'WebSocket') : null,
    original,
  );
}

function timing(detail) {
  const { first_byte_ms: first, duration_ms: whole, problem } = detail;
  const made = element('div');
  if (first !== null && whole !== null) {
    const bar = element('div', { class: 'timing', role: 'presentation' });
    for (const [name, part] of [
      ['wait', first],
      ['load', whole - first],
    ]) {
      const piece = element('span', { class: name });
      piece.style.flex = `${Math.max(part, 0)} 0 0`;
      bar.append(piece);
    }
    made.append(bar);
  }
  const words = element('p', { class: 'facts' });
  if (first !== null) words.append(element('span', { class: 'key wait' }, `first byte after ${durationText(first)}`));
  if (first !== null && whole !== null) {
    words.append(element('span', { class: 'key load' }, `body took ${durationText(Math.max(whole - first, 0))}`));
  }
  words.append(element('span', {}, whole === null ? 'in progress' : `${durationText(whole)} in total`));
  made.append(words);
  if (problem !== null) made.append(element('p', { class: 'problem' }, problem));
  return made;
}

function buttons(detail, actions) {
  const refused = detail.not_replayable;
  const replay = element('button', { type: 'button', class: 'main', disabled: refused !== null }, 'Replay');
  replay.addEventListener('click', () => actions.replay(detail));
  const edit = element('button', { type: 'button', disabled: detail.is_websocket }, 'Edit and replay');
  edit.addEventListener('click', () => actions.edit(detail));
  const why =
    refused === null ? null : element('span', { class: 'quiet' }, `Cannot be replayed unchanged: ${refused}.`);
  return element('div', { class: 'actions' }, replay, edit, why);
}

function side(title, { headers, body }, id) {
  const rows = headers.map(({ name, value }) =>
    element('tr', {}, element('th', { scope: 'row' }, name), element('td', {}, value)),
  );
  const table = element(
    'table',
    { 'aria-label': `Headers of the ${title.toLowerCase()}` },
    element('tbody', {}, ...rows),
  );
  return element(
    'section',
    { class: 'side' },
    element('h3', {}, title),
    table,
    bodyView(body, id, title.toLowerCase()),
  );
}

function pending(detail) {
  const words = detail.duration_ms === null ? 'No response yet.' : 'There was no response.';
  return element('section', { class: 'side' }, element('h3', {}, 'Response'), element('p', { class: 'quiet' }, words));
}

function linkTo(words, action) {
  return element('button', { type: 'button', onclick: action }, words);
}

function sameButton(place, focused) {
  const buttons = [...place.querySelectorAll('button:enabled')];
  return buttons.find((button) => button.textContent === focused.textContent);
}
