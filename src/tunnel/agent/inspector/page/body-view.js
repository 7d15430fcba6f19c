import { element } from './element.js';
import { bytesIn, hexDump, prettyJson, sizeText, textOf } from './format.js';

const MAX_HEX_BYTES = 65536;
const MAX_TEXT_LENGTH = 400000;

/** A body: its size, the form in which it is shown, and its content. */
export function bodyView(body, id, side) {
  if (body.total_bytes === 0) return element('p', { class: 'quiet' }, 'No body.');
  const bytes = bytesIn(body.base64);
  const forms = formsOf(bytes, body);
  const shown = element('pre', { tabindex: '0', 'aria-label': `Body of the ${side}` });
  const show = (name) => {
    shown.textContent = forms.get(name)();
    shown.className = name;
  };
  const choice = element('select', { 'aria-label': `Display format of the ${side} body` });
  for (const name of forms.keys()) choice.append(element('option', { value: name }, name));
  choice.addEventListener('change', () => show(choice.value));
  show(choice.value);
  const download = element(
    'a',
    { href: `/api/requests/http/${id}/body?side=${side}`, download: true },
    'Download raw body',
  );
  const bar = element('div', { class: 'body-bar' }, choice, element('span', {}, wordsOf(body)), download);
  const problem = body.problem === null ? null : element('p', { class: 'problem' }, body.problem);
  return element('div', {}, bar, problem, shown);
}

function formsOf(bytes, body) {
  const text = textOf(bytes, body.content_type, body.is_truncated || body.problem !== null);
  const forms = new Map();
  if (text !== null) {
    const pretty = prettyJson(text);
    if (pretty !== null && /^\s*[[{]/.test(text)) forms.set('json', () => cut(pretty));
    forms.set('text', () => cut(text));
  }
  forms.set('hex', () => {
    const dump = hexDump(bytes.subarray(0, MAX_HEX_BYTES));
    return bytes.length > MAX_HEX_BYTES ? `${dump}\n… ${sizeText(bytes.length - MAX_HEX_BYTES)} more` : dump;
  });
  return forms;
}

function cut(text) {
  if (text.length <= MAX_TEXT_LENGTH) return text;
  return `${text.slice(0, MAX_TEXT_LENGTH)}\n… ${text.length - MAX_TEXT_LENGTH} more characters`;
}

function wordsOf(body) {
  const words = [sizeText(body.total_bytes)];
  if (body.content_type !== '') words.push(body.content_type);
  if (body.content_encoding !== null) words.push(`${body.content_encoding}${body.is_decoded ? ', decoded' : ''}`);
  if (body.is_truncated) words.push(`only the first ${sizeText(body.kept_bytes)} stored`);
  return words.join(' · ');
}
