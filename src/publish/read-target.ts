import type { WantedTarget } from './wanted-edge.ts';

/** `127.0.0.1:3000`, `3000`, `http://web:8080` or `https://web`; null: the text is no address. A password is no part of one. */
export function readTarget(text: string): Extract<WantedTarget, { kind: 'address' }> | null {
  if (/^\d{1,5}$/.test(text)) return addressTarget(`127.0.0.1:${text}`, false);
  const [, scheme = 'http', rest = ''] = /^(?:(https?):\/\/)?([^/\s@?#\\]+)\/?$/.exec(text) ?? [];
  const hasPort = /:\d{1,5}$/.test(rest);
  if (rest === '' || (!hasPort && !text.includes('://'))) return null;
  const port = scheme === 'https' ? 443 : 80;
  return addressTarget(hasPort ? rest : `${rest}:${port}`, scheme === 'https');
}

function addressTarget(address: string, hasTls: boolean): ReturnType<typeof readTarget> {
  // Port 0 is no address, and larger ones than 65535 are none of a URL.
  return /:0+$/.test(address) || !URL.canParse(`http://${address}`) ? null : { kind: 'address', address, hasTls };
}
