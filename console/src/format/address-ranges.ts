const V4_BITS = 32;
const V6_BITS = 128;
const MAX_OCTET = 255;

/** What is written with commas, spaces or line breaks between, each once. */
export function addressesIn(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,]+/))].filter((each) => each !== '');
}

/** What is wrong with a list of addresses and ranges, or null. The server checks the bits after the prefix. */
export function rangesProblem(text: string): string | null {
  const wrong = addressesIn(text).find((each) => !isRange(each));
  return wrong === undefined ? null : `“${wrong}” is neither an address nor a range.`;
}

function isRange(text: string): boolean {
  const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const bits = bitsOf(address);
  return bits !== null && Number(prefix ?? 0) <= bits;
}

/** Null: this is no address. */
function bitsOf(address: string): number | null {
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(address))
    return address.split('.').every((octet) => Number(octet) <= MAX_OCTET) ? V4_BITS : null;
  return address.includes(':') && URL.canParse(`http://[${address}]/`) ? V6_BITS : null;
}

/** The ranges in a list: an address is one of a single address. */
export function rangesIn(text: string): readonly string[] {
  return addressesIn(text).map((each) =>
    each.includes('/') ? each : `${each}/${each.includes(':') ? V6_BITS : V4_BITS}`,
  );
}
