import { showDetail, showNoDetail } from './detail.js';
import { openEditor } from './editor.js';
import { byId, element, notify } from './element.js';
import { RequestList } from './request-list.js';
import { ask, change } from './server.js';

const FILTER_DELAY_MS = 150;
const STATUS_EVERY_MS = 5000;

let chosen = null;
let detailTurn = 0;
let isReloading = false;
let wantsReload = false;
let reloadTimer = null;
let source = null;
const waiting = new Map();
const list = new RequestList((id) => choose(id));
const actions = {
  choose,
  replay: (detail) => replay(detail, undefined).catch((error) => notify(error.message)),
  edit: (detail) => openEditor(detail, (edit) => replay(detail, edit)),
};

function filterText() {
  const words = [byId('filter-text').value.trim()];
  for (const field of ['method', 'status']) {
    const { value } = byId(`filter-${field}`);
    if (value !== '') words.unshift(`${field}:${value}`);
  }
  return words.join(' ').trim();
}

function isFiltered() {
  return filterText() !== '' || byId('filter-tunnel').value !== '';
}

async function reload() {
  if (isReloading) {
    wantsReload = true;
    return;
  }
  isReloading = true;
  try {
    const tunnel = byId('filter-tunnel').value;
    const query = new URLSearchParams({ filter: filterText(), ...(tunnel !== '' && { tunnel }) });
    const { requests } = await ask(`/api/requests/http?${query}`);
    list.replace(requests);
    showCount();
  } catch (error) {
    notify(error.message);
  }
  isReloading = false;
  if (!wantsReload) return;
  wantsReload = false;
  reloadSoon();
}

function reloadSoon() {
  clearTimeout(reloadTimer);
  reloadTimer = setTimeout(reload, FILTER_DELAY_MS);
}

function showCount() {
  const empty = byId('empty');
  empty.hidden = list.size > 0;
  empty.textContent = isFiltered()
    ? 'No request matches the filter.'
    : 'No requests yet. They appear here as they arrive.';
  if (chosen === null) {
    showNoDetail(
      list.size > 0 ? 'Select a request to see its details.' : 'Requests through the tunnels are shown here.',
    );
  }
}

async function choose(id) {
  if (id !== chosen) byId('detail').scrollTop = 0;
  chosen = id;
  list.choose(id);
  await refreshDetail();
}

async function refreshDetail() {
  detailTurn += 1;
  const turn = detailTurn;
  try {
    const detail = await ask(`/api/requests/http/${chosen}`);
    // Ignores a response that a later one has overtaken.
    if (turn === detailTurn) showDetail(detail, actions);
  } catch (error) {
    if (turn === detailTurn) showNoDetail(error.message);
  }
}

async function replay(detail, edit) {
  const begun = await change('POST', { id: detail.id, ...(edit !== undefined && { edit }) });
  if (!isFiltered()) list.update([begun]);
  await choose(begun.id);
}

/** Many events may arrive at once: they are rendered together in the next frame. */
function onRequest(request) {
  if (waiting.size === 0) requestAnimationFrame(showWaiting);
  waiting.set(request.id, request);
}

function showWaiting() {
  const requests = [...waiting.values()];
  waiting.clear();
  if (isFiltered()) reloadSoon();
  else list.update(requests);
  showCount();
  if (requests.some(({ id }) => id === chosen)) void refreshDetail();
}

function follow() {
  source?.close();
  source = new EventSource('/api/events');
  // Events from before the connection opened are not repeated.
  source.addEventListener('open', () => {
    void reload();
    void showStatus();
  });
  source.addEventListener('request', (event) => onRequest(JSON.parse(event.data)));
  source.addEventListener('cleared', () => {
    waiting.clear();
    list.replace([]);
    chosen = null;
    detailTurn += 1;
    showCount();
  });
  source.addEventListener('error', () => void showStatus());
}

async function showStatus() {
  const agent = byId('agent');
  try {
    const [{ agent: state }, { tunnels }] = await Promise.all([ask('/api/status'), ask('/api/tunnels')]);
    const words = [state?.status ?? 'starting'];
    if (state?.region) words.push(state.region);
    if (state?.nodes?.length > 0) words.push(`${state.nodes.length > 1 ? 'nodes' : 'node'} ${state.nodes.join(', ')}`);
    if (state?.round_trip_ms != null) words.push(`${Math.round(state.round_trip_ms)} ms`);
    if (state?.active > 0) words.push(`${state.active} in progress`);
    if (agent.textContent !== words.join(' · ')) agent.textContent = words.join(' · ');
    agent.className = state?.status === 'online' ? 'online' : '';
    showTunnels(tunnels);
  } catch {
    agent.textContent = 'the agent does not respond: check that it is running';
    agent.className = 'lost';
  }
}

function showTunnels(tunnels) {
  const text = JSON.stringify(tunnels);
  if (showTunnels.shown === text) return;
  showTunnels.shown = text;
  byId('tunnels').replaceChildren(...tunnels.map(tunnelItem));
  const choice = byId('filter-tunnel');
  const { value } = choice;
  choice.replaceChildren(
    element('option', { value: '' }, 'any tunnel'),
    ...tunnels.map(({ name }) => element('option', { value: name }, name)),
  );
  choice.value = value;
  byId('filter-tunnel-label').hidden = tunnels.length < 2;
}

function tunnelItem({ name, url, labels, forwards_to: forwardsTo, problem }) {
  const label =
    labels === null
      ? name
      : Object.entries(labels)
          .map((pair) => pair.join('='))
          .join(', ');
  // Only URLs that a browser can open, and none that would run script here.
  const isLink = url !== null && /^https?:\/\//.test(url);
  const link = isLink ? element('a', { href: url, target: '_blank', rel: 'noopener noreferrer' }, url) : (url ?? label);
  const trouble = problem === null ? null : element('span', { class: 'problem' }, ` ${problem}`);
  return element('li', {}, link, element('span', { class: 'quiet' }, ` → ${forwardsTo}`), trouble);
}

function isTyping(target) {
  return target instanceof Element && target.closest('input, textarea, select, dialog') !== null;
}

for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']) {
  byId('filter-method').append(element('option', {}, method));
}
byId('filter').addEventListener('input', reloadSoon);
byId('filter').addEventListener('submit', (event) => {
  event.preventDefault();
  reloadSoon();
});
byId('clear').addEventListener('click', () => {
  change('DELETE').catch((error) => notify(error.message));
});
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && !isTyping(event.target)) {
    event.preventDefault();
    byId('filter-text').focus();
  } else if (event.key === 'Escape' && event.target.closest?.('#filter') !== null) list.focusChosen();
});
// A browser has few connections per host: hidden tabs free theirs.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) source?.close();
  else follow();
});
setInterval(() => !document.hidden && showStatus(), STATUS_EVERY_MS);
showCount();
follow();
