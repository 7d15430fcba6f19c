import { byId, element } from './element.js';
import { base64Of, bytesIn, textOf } from './format.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * Opens a dialog to edit the request. `send` receives the edit and returns a promise. The dialog stays open when it
 * rejects.
 */
export function openEditor(detail, send) {
  const dialog = byId('editor');
  const { request } = detail;
  const method = element('select', { id: 'edit-method' });
  for (const name of new Set([...METHODS, detail.method])) {
    method.append(element('option', { selected: name === detail.method }, name));
  }
  const path = element('input', { id: 'edit-path', required: true, spellcheck: 'false', autocomplete: 'off' });
  path.value = detail.path;
  const headers = element('textarea', { id: 'edit-headers', rows: '9', spellcheck: 'false' });
  headers.value = request.headers.map(({ name, value }) => `${name}: ${value}`).join('\n');
  const original = editableText(request.body);
  const body = element('textarea', { id: 'edit-body', rows: '9', spellcheck: 'false' });
  body.value = original ?? '';
  if (original === null) body.placeholder = 'Leave empty to send the original body. Text entered here replaces it.';
  const problem = element('p', { class: 'problem', role: 'alert' });
  const form = element(
    'form',
    {},
    element('h2', { id: 'editor-title' }, 'Edit and replay'),
    element('div', { class: 'line' }, element('label', {}, 'Method', method), element('label', {}, 'Path', path)),
    element(
      'label',
      {},
      'Headers, one per line (masked values that you leave unchanged are sent with their real values)',
      headers,
    ),
    element('label', {}, 'Body', body),
    problem,
    element(
      'div',
      { class: 'actions' },
      element('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'),
      element('button', { type: 'submit', class: 'main' }, 'Send'),
    ),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    try {
      const isBodyKept = original === null ? body.value === '' : body.value === original;
      await send({
        method: method.value,
        path: path.value,
        headers: headersIn(headers.value),
        ...(!isBodyKept && { body: base64Of(body.value) }),
      });
      dialog.close();
    } catch (error) {
      problem.textContent = error.message;
    }
  });
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  dialog.replaceChildren(form);
  dialog.showModal();
  path.focus();
}

/** Null when the body cannot be edited as text without changing other bytes. */
function editableText(body) {
  if (body.total_bytes === 0) return '';
  if (body.is_truncated || body.content_encoding !== null) return null;
  const text = textOf(bytesIn(body.base64), 'text/plain; charset=utf-8', false);
  // A text field turns CR LF into LF and removes the byte order mark.
  return text === null || text.includes('\r') || bytesIn(body.base64)[0] === 0xef ? null : text;
}

function headersIn(text) {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const at = line.indexOf(':');
      if (at < 1) throw new Error(`“${line}” is not a header: use name: value`);
      return { name: line.slice(0, at).trim(), value: line.slice(at + 1).trim() };
    });
}
