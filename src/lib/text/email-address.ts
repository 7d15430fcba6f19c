import { domainToASCII } from 'node:url';

export interface EmailAddress {
  /** In lower case, with the domain in ASCII. */
  readonly text: string;
  readonly domain: string;
  /**
   * Whether it is one plain address. Others count only in deny rules: the domain of `a@evil.example,b@example.com` is
   * not example.com for every reader.
   */
  readonly isPlain: boolean;
}

const PLAIN = /^[^\s\p{Cc}@,;:<>()[\]"\\]+@[^\s\p{Cc}@,;:<>()[\]"\\]+$/u;
/** The Kelvin sign is normalized to an ASCII letter: the address of somebody else. */
const KELVIN = '\u212a';

/** Null for text without a domain. */
export function emailAddress(written: string): EmailAddress | null {
  const text = written.normalize('NFC');
  const at = text.lastIndexOf('@');
  if (at === -1) return null;
  // With its final dot a name is the same one (RFC 1034 §3.1).
  const domain = domainName(text.slice(at + 1).replace(/\.$/, ''));
  if (domain === null) return null;
  const local = text.slice(0, at);
  return {
    text: `${local.toLowerCase()}@${domain}`,
    domain,
    isPlain: PLAIN.test(written) && !written.endsWith('.') && !written.includes(KELVIN),
  };
}

/** In lower case and ASCII (RFC 5891), so that both spellings of an international name are one. Null: not a domain name. */
export function domainName(written: string): string | null {
  const text = written.toLowerCase();
  if (/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(text)) return text;
  // Others are mapped like the host of a URL, which would end at "/", "?" or "#" and decode "%".
  if (!/^[a-z0-9_\-.\P{ASCII}]+$/u.test(text)) return null;
  const ascii = domainToASCII(text);
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(ascii) ? ascii : null;
}
