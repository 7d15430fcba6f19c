/** A name and a password of 128 characters each have 1,400 in UTF-8 and base64. */
const MAX_LINE = 2_048;
/** RFC 7617 §2: the scheme is case-insensitive, the rest is base64 with padding (RFC 4648 §4). */
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;
const STARTS_BASIC = /^\s*basic(?![A-Za-z0-9!#$%&'*+.^_`|~-])/i;
/** RFC 9110 §5.3: proxies join repeated fields with commas. A parameter has "=" after its name. */
const JOINED_BASIC = /,\s*basic(?:\s+[^\s=]|\s*$)/i;
/** RFC 7617 §2: neither part has control characters. */
const CONTROL = /\p{Cc}/u;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export interface BasicCredentials {
  readonly username: string;
  readonly password: string;
}

/**
 * The user name and password in the lines of Authorization fields: null when there are none that can be right. They are
 * read as one form only, so that nobody reads another name or password out of the same header.
 */
export function basicCredentials(lines: readonly string[]): BasicCredentials | null {
  const [line = ''] = lines;
  if (lines.length !== 1 || line.length > MAX_LINE) return null;
  const [, encoded] = BASIC.exec(line) ?? [];
  if (encoded === undefined) return null;
  const bytes = Buffer.from(encoded, 'base64');
  // Other spellings of the same bytes, which lenient decoders accept.
  if (bytes.toString('base64') !== encoded) return null;
  const text = decoded(bytes);
  const colon = text?.indexOf(':') ?? -1;
  if (text === null || colon === -1 || CONTROL.test(text)) return null;
  // As `sameName` does.
  return { username: text.slice(0, colon).normalize('NFC'), password: text.slice(colon + 1).normalize('NFC') };
}

/** Whether a line may hold a password, right or wrong: it is not forwarded. */
export function hasBasicCredentials(lines: readonly string[]): boolean {
  return lines.some((line) => STARTS_BASIC.test(line) || JOINED_BASIC.test(line));
}

/** Whether a text can be part of a header with credentials. */
export function isCredentialText(text: string): boolean {
  return text.isWellFormed() && !CONTROL.test(text);
}

function decoded(bytes: Buffer): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
