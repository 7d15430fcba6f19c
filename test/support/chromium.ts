import { hash, X509Certificate } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import type { Cleanup } from './cleanup.ts';

/** For Playwright: a browser that makes no requests of its own. */
export const CHROMIUM_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** This machine's Chromium, or null: browser tests are then skipped with a message. */
export function chromiumPath(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = folders.flatMap((folder) =>
    ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)),
  );
  return found.find((path) => isExecutable(path)) ?? null;
}

/** A browser that accepts certificates of these authorities, and reports all others. */
export async function launchChromium(test: Cleanup, executablePath: string, ca: readonly string[]): Promise<Browser> {
  const keys = ca.map((pem) => {
    const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
    return hash('sha256', key, 'base64');
  });
  const trust = `--ignore-certificate-errors-spki-list=${keys.join(',')}`;
  const browser = await chromium.launch({ executablePath, args: [...CHROMIUM_FLAGS, trust] });
  test.after(() => browser.close());
  return browser;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
