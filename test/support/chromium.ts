import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** For Playwright: a browser that asks nothing of the world outside. */
export const CHROMIUM_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The Chromium of this machine, or null: tests with a browser are then skipped, and say so. */
export function chromiumPath(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = folders.flatMap((folder) =>
    ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)),
  );
  return found.find((path) => isExecutable(path)) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
