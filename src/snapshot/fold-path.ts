const ASCII = /^[\0-\x7f]*$/;
const IGNORABLE = /\p{Default_Ignorable_Code_Point}/gu;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * One text for all spellings that programs which ignore case take for the same, of a key with a byte a character: close to
 * NFKC_Casefold (Unicode §3.13), with upper case first because Java compares so, where "ı" is "i".
 */
export function foldPath(key: string): string {
  if (ASCII.test(key)) return key.toLowerCase();
  const text = fromUtf8(key).normalize('NFKC').replaceAll(IGNORABLE, '');
  // "İ" becomes "i" with a dot of its own.
  return text.toUpperCase().toLowerCase().replaceAll('i\u0307', 'i').normalize('NFKC');
}

/** Bytes that are no UTF-8 are taken for ISO 8859-1, as upstreams do. */
function fromUtf8(bytes: string): string {
  try {
    return UTF8.decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return bytes;
  }
}
