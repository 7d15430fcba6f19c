import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** The simulated disk: takes space away, and gives it back. */
export interface Disk {
  fillUp(): void;
  free(): void;
}

/** Takes all space but `spareMegabytes`, to the last byte. */
export function fillerOn(disk: string, spareMegabytes: number): Disk {
  const path = join(disk, 'filler');
  const spare = join(disk, 'spare');
  const write = (file: string, megabytes: number) => {
    const fd = openSync(file, 'w');
    try {
      for (let written = 0; written < megabytes * 1024; written += 4) writeSync(fd, Buffer.alloc(4096));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(fd);
    }
  };
  return {
    fillUp: () => {
      write(spare, spareMegabytes);
      write(path, Number.MAX_SAFE_INTEGER / 4096);
      rmSync(spare);
    },
    free: () => rmSync(path),
  };
}
