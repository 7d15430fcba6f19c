/** As people write it: one address without the length of its prefix. */
export function rangeText(range: string): string {
  return range.replace(range.includes(':') ? /\/128$/ : /\/32$/, '');
}
