const ASCII = /^[\0-\x7f]*$/;
const IGNORABLE = /\p{Default_Ignorable_Code_Point}|\ufffd/gu;
const MARKS = /\p{M}/gu;

/**
 * The texts by which a key with a byte a character is compared: equal for all spellings that programs which ignore case or
 * accents take for the same. Two where an upstream may take the bytes for UTF-8, without those that are none, or for ISO 8859-1.
 */
export function foldingsOf(key: string): readonly string[] {
  if (ASCII.test(key)) return [key.toLowerCase()];
  return [foldText(Buffer.from(key, 'latin1').toString()), foldText(key)];
}

/**
 * Close to NFKC_Casefold (Unicode §3.13), with upper case first because Java compares so, where "ı" is "i", and without marks, as
 * the collations of MySQL compare. Marks go first: normalize() sorts a run of them in quadratic time.
 */
function foldText(text: string): string {
  const letters = withoutMarks(text.replaceAll(IGNORABLE, '')).normalize('NFKD');
  // "ẞ" is "SS" by way of "ß" alone.
  const small = withoutMarks(letters).toLowerCase().toUpperCase().toLowerCase();
  // "Σ" becomes "ς" where a word ends: a prefix would fold otherwise than a path that starts with it.
  return withoutMarks(small).replaceAll('ς', 'σ');
}

/** The iota below Greek letters becomes a letter in upper case. */
function withoutMarks(text: string): string {
  return text.replaceAll('\u0345', 'ι').replaceAll(MARKS, '');
}
