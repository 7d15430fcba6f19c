import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import { CHROMIUM_FLAGS } from './chromium.ts';
import type { Cleanup } from './cleanup.ts';
import { tempDir } from './temp-dir.ts';

/**
 * A browser whose profile trusts these authorities, as a person's browser does who installed them: no flag ignores a
 * certificate, because Chromium refuses passkeys on pages with certificate errors. Every host is found at the port,
 * but not an API at 127.0.0.1.
 */
export async function launchTrustingChromium(
  test: Cleanup,
  executablePath: string,
  { ca, port }: { readonly ca: readonly string[]; readonly port: number },
): Promise<Browser> {
  const home = await tempDir(test);
  const database = join(home, '.pki', 'nssdb');
  mkdirSync(database, { recursive: true });
  const certutil = (...args: readonly string[]): void => {
    execFileSync('certutil', ['-d', `sql:${database}`, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  };
  certutil('-N', '--empty-password');
  for (const [number, pem] of ca.entries()) {
    const file = join(home, `ca-${number}.pem`);
    writeFileSync(file, pem);
    certutil('-A', '-t', 'C,,', '-n', `authority ${number}`, '-i', file);
  }
  const browser = await chromium.launch({
    executablePath,
    env: { ...(process.env as Record<string, string>), HOME: home },
    args: [...CHROMIUM_FLAGS, `--host-resolver-rules=MAP * 127.0.0.1:${port}, EXCLUDE 127.0.0.1`],
  });
  test.after(() => browser.close());
  return browser;
}

/** A device with passkeys, plugged into one tab (https://chromedevtools.github.io/devtools-protocol/tot/WebAuthn). */
export class VirtualAuthenticator {
  readonly #session: CDPSession;
  readonly #id: string;

  private constructor(session: CDPSession, id: string) {
    this.#session = session;
    this.#id = id;
  }

  static async plugInto(page: Page): Promise<VirtualAuthenticator> {
    const session = await page.context().newCDPSession(page);
    await session.send('WebAuthn.enable');
    const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        // Otherwise every page with autofill logs in by itself.
        automaticPresenceSimulation: false,
      },
    });
    return new VirtualAuthenticator(session, authenticatorId);
  }

  /** The person touches the device while the task runs. */
  async touchedDuring(task: () => Promise<void>): Promise<void> {
    await this.#touch(true);
    await task();
    await this.#touch(false);
  }

  /** The person fails to give the PIN, or gives it. */
  async setUserVerified(isUserVerified: boolean): Promise<void> {
    await this.#session.send('WebAuthn.setUserVerified', { authenticatorId: this.#id, isUserVerified });
  }

  async unplug(): Promise<void> {
    await this.#session.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId: this.#id });
  }

  async #touch(enabled: boolean): Promise<void> {
    await this.#session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId: this.#id, enabled });
  }
}
