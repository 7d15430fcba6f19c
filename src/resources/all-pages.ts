const PAGE_SIZE = 1000;

/** Reads a paged list to its end. */
export async function allPages<Item extends { readonly id: string }>(
  readPage: (query: { readonly beforeId: string | null; readonly limit: number }) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  let beforeId: string | null = null;
  while (true) {
    const page: readonly Item[] = await readPage({ beforeId, limit: PAGE_SIZE });
    items.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_SIZE) return items;
    beforeId = last.id;
  }
}
