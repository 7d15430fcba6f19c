/** Whether the host, which may be a wildcard, is `name` or below it. Both are in lower case. */
export function isHostOrBelow(host: string, name: string): boolean {
  const plain = host.startsWith('*.') ? host.slice(2) : host;
  return plain === name || plain.endsWith(`.${name}`);
}
