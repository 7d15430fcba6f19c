/**
 * Indented JSON, or null when the text is not JSON. It changes white space only: numbers beyond JavaScript's precision
 * stay as they are.
 */
export function prettyJson(text) {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? [];
  return tokens
    .map((token, at) => {
      if (token === '{' || token === '[') {
        depth += 1;
        return tokens[at + 1] === '}' || tokens[at + 1] === ']' ? token : token + line();
      }
      if (token === '}' || token === ']') {
        depth -= 1;
        return tokens[at - 1] === '{' || tokens[at - 1] === '[' ? token : line() + token;
      }
      if (token === ',') return token + line();
      return token === ':' ? ': ' : token;
    })
    .join('');
}

export function hexDump(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = Array.from(bytes.subarray(at, at + 16));
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = row.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${text}`);
  }
  return lines.join('\n');
}

/** Null when the bytes are not text. */
export function textOf(bytes, contentType, isCut) {
  const charset = /charset="?([\w-]+)/i.exec(contentType)?.[1] ?? 'utf-8';
  try {
    // A body truncated inside a character is still text.
    const text = new TextDecoder(charset, { fatal: true }).decode(bytes, { stream: isCut });
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}

export function bytesIn(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

export function base64Of(text) {
  let binary = '';
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

export function sizeText(count) {
  if (count < 1024) return `${count} B`;
  return count < 1048576 ? `${(count / 1024).toFixed(1)} KiB` : `${(count / 1048576).toFixed(1)} MiB`;
}

export function durationText(ms) {
  if (ms === null) return '…';
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 10000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Text shown in place of a status, and its CSS class. */
export function statusOf(request) {
  const failed = request.problem !== null;
  if (request.status === null) return failed ? ['failed', 'failed'] : ['…', 'quiet'];
  return [String(request.status), failed ? 'failed' : `s${Math.floor(request.status / 100)}`];
}
