export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
}

/** Beyond this many cells the comparison would block the page: everything then counts as replaced. */
const MAX_CELLS = 1_000_000;

/** Longest common subsequence of lines. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const old = before === '' ? [] : before.split('\n');
  const now = after === '' ? [] : after.split('\n');
  if (old.length * now.length > MAX_CELLS) {
    return [
      ...old.map((text): DiffLine => ({ kind: 'removed', text })),
      ...now.map((text): DiffLine => ({ kind: 'added', text })),
    ];
  }
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  const at = (row: number, column: number): number => lengths[row]?.[column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = now.length - 1; column >= 0; column -= 1) {
      const cells = lengths[row] as Uint32Array;
      cells[column] =
        old[row] === now[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: DiffLine[] = [];
  let row = 0;
  let column = 0;
  while (row < old.length || column < now.length) {
    if (row < old.length && column < now.length && old[row] === now[column]) {
      lines.push({ kind: 'same', text: old[row] ?? '' });
      row += 1;
      column += 1;
    } else if (row < old.length && (column >= now.length || at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ kind: 'removed', text: old[row] ?? '' });
      row += 1;
    } else {
      lines.push({ kind: 'added', text: now[column] ?? '' });
      column += 1;
    }
  }
  return lines;
}
