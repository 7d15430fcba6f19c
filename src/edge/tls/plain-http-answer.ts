const METHOD = /^[A-Z]{3,10} /;
const TEXT = 'This port requires HTTPS: use https:// in the address.\n';

/** A client that sends plain HTTP to the TLS port has mistyped an address; other protocols get no response. */
export function plainHttpAnswer(firstBytes: Buffer): string {
  if (!METHOD.test(firstBytes.toString('latin1', 0, 11))) return '';
  return [
    'HTTP/1.0 400 Bad Request',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${TEXT.length}`,
    'Connection: close',
    '',
    TEXT,
  ].join('\r\n');
}
