/** Underscores are for names such as `_acme-challenge`, which hosts cannot have. */
const NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/** Whether the text is the name of a zone or record: in lower case, without a final dot. */
export function isRecordName(text: string): boolean {
  return NAME.test(text);
}

/** Part of the name before the zone; `@` is the zone itself. */
export function nameInZone(name: string, zone: string): string {
  return name === zone ? '@' : name.slice(0, -zone.length - 1);
}

/** The longest of the zones that the name is in. */
export function longestZone<Zone extends { readonly zone: string }>(name: string, zones: readonly Zone[]): Zone | null {
  let longest: Zone | null = null;
  for (const each of zones) {
    const isInside = name === each.zone || name.endsWith(`.${each.zone}`);
    if (isInside && each.zone.length > (longest?.zone.length ?? -1)) longest = each;
  }
  return longest;
}
