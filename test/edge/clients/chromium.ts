import { createHash, X509Certificate } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import type { Cleanup } from '../../support/cleanup.ts';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function chromiumPath(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable) ?? null;
}

/** A browser that takes certificates of these authorities, and complains about all others. */
export async function launchChromium(test: Cleanup, executablePath: string, ca: readonly string[]): Promise<Browser> {
  const keys = ca.map((pem) => {
    const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
    return createHash('sha256').update(key).digest('base64');
  });
  const trust = `--ignore-certificate-errors-spki-list=${keys.join(',')}`;
  const browser = await chromium.launch({ executablePath, args: [...FLAGS, trust] });
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
