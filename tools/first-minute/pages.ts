import { writeFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { acceptInvitation, logIn } from '../../test/identity/identity-tabs.ts';
import { chromiumPath } from '../../test/support/chromium.ts';
import type { Cleanup } from '../../test/support/cleanup.ts';
import { launchTrustingChromium, VirtualAuthenticator } from '../../test/support/trusting-chromium.ts';

/** A photographed page: what a browser shows below its address bar. */
export interface Still {
  readonly title: string;
  readonly url: string;
  readonly png: Buffer;
}

const WINDOW = { width: 640, height: 455 };
/** For screens with more pixels than points. */
const SCALE = 1.5;

interface Journey {
  /** PEM of the authority that issued the certificates. */
  readonly authority: string;
  readonly invitation: string;
  readonly app: string;
}

/** A person accepts the invitation with a passkey, logs out, and logs in again on the way to the application. */
export async function photograph(
  cleanup: Cleanup,
  { authority, invitation, app }: Journey,
): Promise<{ readonly invited: Still; readonly login: Still; readonly entered: Still }> {
  const executablePath = chromiumPath();
  if (executablePath === null) throw new Error('chromium is not on the PATH');
  const browser = await launchTrustingChromium(cleanup, executablePath, { ca: [authority], port: 443 });
  const page = await (
    await browser.newContext({ viewport: WINDOW, deviceScaleFactor: SCALE, colorScheme: 'light' })
  ).newPage();
  const device = await VirtualAuthenticator.plugInto(page);

  await page.goto(invitation);
  const invited = await still(page, 'You open the invitation, and create a passkey');
  await acceptInvitation(page, device);
  await page.getByRole('button', { name: 'Log out', exact: true }).click();
  await page.getByRole('heading', { name: 'Log in', level: 1 }).waitFor();
  await page.goto(app);
  await page.getByText('continue to').waitFor();
  const login = await still(page, 'A visitor must log in');
  await logIn(page, device);
  await page.waitForURL(app);
  await page.getByRole('heading', { name: 'Welcome' }).waitFor();
  return { invited, login, entered: await still(page, 'After the login: your application') };
}

async function still(page: Page, title: string): Promise<Still> {
  const { host, pathname } = new URL(page.url());
  return { title, url: `${host}${pathname === '/' ? '' : pathname}`, png: await page.screenshot() };
}

interface Picture {
  readonly command: string;
  readonly lines: readonly string[];
  readonly pages: { readonly login: Still; readonly entered: Still };
}

/** One picture of the command and of both pages, readable on a light and on a dark background. */
export async function writePicture(cleanup: Cleanup, file: string, { command, lines, pages }: Picture): Promise<void> {
  const browser = await launchTrustingChromium(cleanup, chromiumPath() ?? '', { ca: [], port: 443 });
  const page = await browser.newPage({ viewport: { width: 1_000, height: 600 }, deviceScaleFactor: 1.4 });
  const windows = [pages.login, pages.entered].map(
    ({ title, url, png }) => `<figure><figcaption>${title}</figcaption><div class="window">
      <div class="bar"><i></i><i></i><i></i><span>${url}</span></div>
      <img src="data:image/png;base64,${png.toString('base64')}"></div></figure>`,
  );
  await page.setContent(`<!doctype html><style>
    body { margin: 0; padding: 2px; font: 14px "DejaVu Sans", sans-serif; background: transparent }
    pre { margin: 0; padding: 14px 18px; font: 14px/1.5 "DejaVu Sans Mono", monospace; background: #272822; color: #f8f8f2; border-radius: 8px; border: 1px solid #75715e }
    b { color: #a6e22e } section { display: flex; gap: 16px; margin-top: 14px }
    figure { margin: 0; flex: 1; background: #eceef2; border-radius: 8px; border: 1px solid #9aa1ad; overflow: hidden }
    figcaption { padding: 8px 14px 0; color: #1f2430; font-weight: bold }
    .bar { display: flex; align-items: center; gap: 6px; padding: 8px 14px } .bar i { width: 10px; height: 10px; border-radius: 5px; background: #b6bcc7 }
    .bar span { flex: 1; margin-left: 8px; padding: 3px 12px; background: #fff; color: #1f2430; border-radius: 10px; font-size: 12.5px }
    img { display: block; width: 100%; aspect-ratio: 640 / 425; object-fit: cover; object-position: top }
  </style><body><pre><b>$</b> ${command}\n${lines.join('\n')}</pre><section>${windows.join('')}</section></body>`);
  const box = await page.locator('body').boundingBox();
  writeFileSync(file, await page.screenshot({ omitBackground: true, clip: box ?? { x: 0, y: 0, ...WINDOW } }));
}
