const ASCII = /^[\0-\x7f]*$/;
const IGNORABLE = /\p{Default_Ignorable_Code_Point}|\ufffd/gu;
const MARKS = /\p{M}/gu;

/**
 * The texts by which a key (one byte per character) is compared: equal for all spellings that case- or
 * accent-insensitive programs treat as the same. There are two where an upstream may read the bytes as UTF-8, ignoring
 * invalid ones, or as ISO 8859-1.
 */
export function foldingsOf(key: string): readonly string[] {
  if (ASCII.test(key)) return [key.toLowerCase()];
  return [foldText(Buffer.from(key, 'latin1').toString()), foldText(key)];
}

/**
 * Close to NFKC_Casefold (Unicode §3.13), with upper case first because Java compares that way ("ı" equals "i"), and
 * without marks, as MySQL collations compare. Marks are removed first: normalize() sorts a run of them in quadratic
 * time.
 */
function foldText(text: string): string {
  const letters = withoutMarks(text.replaceAll(IGNORABLE, '')).normalize('NFKD');
  // "ẞ" becomes "SS" only by way of "ß".
  const small = withoutMarks(letters).toLowerCase().toUpperCase().toLowerCase();
  // "Σ" becomes "ς" at the end of a word: a prefix would fold differently from a path that starts with it.
  return withoutMarks(small).replaceAll('ς', 'σ');
}

/** The iota subscript of Greek letters becomes a letter in upper case. */
function withoutMarks(text: string): string {
  return text.replaceAll('\u0345', 'ι').replaceAll(MARKS, '');
}
