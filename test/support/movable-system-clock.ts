import { globSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';

/** Debian's package `faketime`. */
const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
export const isClockMovable = library !== undefined;

/** The wall clock of a process, which a test sets like an administrator. Monotonic clocks stay as they are. */
export interface MovableSystemClock {
  /** For the process whose clock it is. */
  readonly env: Readonly<Record<string, string>>;
  shift(hours: number): Promise<void>;
}

/** Null: libfaketime is not installed. */
export async function movableSystemClock(file: string): Promise<MovableSystemClock | null> {
  if (library === undefined) return null;
  const shift = (hours: number): Promise<void> => writeFile(file, `${hours < 0 ? '' : '+'}${hours}h\n`);
  await shift(0);
  return {
    shift,
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      // Seconds after which it reads the file again.
      FAKETIME_CACHE_DURATION: '1',
    },
  };
}
