/** The problem with a host name, or null. A leading `*.` stands for one label where `wildcard` allows it. */
export function hostNameProblem(host: string, wildcard: 'allowed' | 'refused'): string | null {
  if (host === '') return 'has an empty host';
  if (host.length > 253) return 'has a host of more than 253 characters';
  const name = host.startsWith('*.') ? host.slice(2) : host;
  if (name !== host && wildcard === 'refused') return `"${host}" has a wildcard, which this field does not allow`;
  if (name.includes('*')) return `"${host}" may have "*" only as its whole first label, as in "*.example.com"`;
  const labels = name.split('.');
  const bad = labels.find((label) => !/^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$/i.test(label));
  if (bad !== undefined) {
    return `"${host}" is not a host name: its labels must be 1 to 63 letters, digits and hyphens (write other characters in xn-- form)`;
  }
  // Resolvers and browsers read these as IPv4 addresses, also without a dot (WHATWG URL §3.5).
  if (/^(?:\d+|0x[0-9a-f]*)$/i.test(labels.at(-1) ?? '')) return `"${host}" is an IP address: use a host name`;
  return null;
}

/** ASCII letters only: `toLowerCase` turns the Kelvin sign into a "k", and so an unchecked name into another. */
export function lowerCaseHost(host: string): string {
  return host.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Without the dot of the root, which some clients send: `a.example.` and `a.example` are one name (RFC 3986 §3.2.2). A port stays. */
export function withoutRootDot(authority: string): string {
  if (authority.endsWith('.')) return authority.slice(0, -1);
  const at = authority.indexOf('.:');
  return at === -1 ? authority : `${authority.slice(0, at)}${authority.slice(at + 1)}`;
}
