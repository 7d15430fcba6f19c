/** The server checks it fully. */
const RANGE = /^(\d{1,3}(\.\d{1,3}){3}|[0-9a-f]*:[0-9a-f:.]*)(\/\d{1,3})?$/i;

/** What is written with commas, spaces or line breaks between, each once. */
export function addressesIn(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,]+/))].filter((each) => each !== '');
}

/** What is wrong with a list of addresses and ranges, or null. */
export function rangesProblem(text: string): string | null {
  const wrong = addressesIn(text).find((each) => !RANGE.test(each));
  return wrong === undefined ? null : `“${wrong}” is neither an address nor a range.`;
}

/** The ranges in a list: an address is one of a single address. */
export function rangesIn(text: string): readonly string[] {
  return addressesIn(text).map((each) => (each.includes('/') ? each : `${each}/${each.includes(':') ? 128 : 32}`));
}
