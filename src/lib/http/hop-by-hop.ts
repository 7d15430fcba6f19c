/**
 * Headers that describe one connection (RFC 9110 §7.6.1, and RFC 7540 §3.2.1 for `http2-settings`): never forwarded as received.
 * Connection can name more; the parser of a head drops those too.
 */
export const HOP_BY_HOP: readonly string[] = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
