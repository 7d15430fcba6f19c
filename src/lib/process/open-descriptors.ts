import { readdirSync, readFileSync, statSync } from 'node:fs';

const FOLDER = '/proc/self/fd';

/** The limit of open file descriptors of this process. Infinity: there is none, or this system does not tell. */
export function descriptorLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    // Without a count, a limit is of no use.
    return soft === undefined || openDescriptors() === 0 ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Open file descriptors of this process. Infinity: none is left to count them. */
export function openDescriptors(): number {
  // Linux 6.2 and later: the number itself, at a constant cost, and without a descriptor for the folder.
  const { size } = statSync(FOLDER);
  if (size > 0) return size;
  try {
    return readdirSync(FOLDER).length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
