import type { WantedTarget } from './wanted-edge.ts';

/** `127.0.0.1:3000`, `3000`, `http://web:8080` or `https://web`; null: the text is no address. */
export function readTarget(text: string): Extract<WantedTarget, { kind: 'address' }> | null {
  if (/^\d{1,5}$/.test(text)) return { kind: 'address', address: `127.0.0.1:${text}`, hasTls: false };
  const [, scheme = 'http', rest = ''] = /^(?:(https?):\/\/)?([^/\s]+)\/?$/.exec(text) ?? [];
  const hasPort = /:\d{1,5}$/.test(rest);
  if (rest === '' || (!hasPort && !text.includes('://'))) return null;
  const port = scheme === 'https' ? 443 : 80;
  return { kind: 'address', address: hasPort ? rest : `${rest}:${port}`, hasTls: scheme === 'https' };
}
