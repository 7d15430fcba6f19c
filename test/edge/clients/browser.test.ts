// Long form: uses a browser without a tunnel. Short form: test/tunnel/traffic/browser.test.ts
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { chromiumPath, launchChromium } from '../../support/chromium.ts';
import { serveBrowserSite } from '../../support/clients/browser-site.ts';
import { browserSuite } from '../../support/clients/browser-suite.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: the edge is NOT tested with a browser';
if (skip !== false) console.error(`\n!! ${skip}\n`);

const upstream = await recordingUpstream({ after });
serveBrowserSite(upstream);
// Browsers resolve names below localhost themselves.
const world = await EdgeWorld.open({ after }, { POSTERN_DOMAIN: 'tunnels.localhost' });
const browser = executablePath === null ? null : await launchChromium({ after }, executablePath, world.ca);
const site = await world.site(await world.staticBackend(upstream.address));
await world.api('PUT', `${site.routePath}/compression`, {});

browserSuite({ name: 'the edge', url: `https://${site.host}:${world.port}`, isCompressed: true, browser });

suite('Chromium and the edge itself', { skip }, () => {
  test('an error page is readable in light and dark mode, and on a phone', async () => {
    const refused = await world.site();
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await (browser ?? assert.fail()).newPage({ colorScheme, viewport: { width: 390, height: 700 } });
      const complaints: string[] = [];
      page.on('console', (message) => complaints.push(message.text()));
      const response = await page.goto(`https://${refused.host}:${world.port}/`);
      assert.equal(response?.status(), 503);
      assert.match((await page.locator('h1').textContent()) ?? '', /503/);
      assert.match((await page.locator('body').textContent()) ?? '', /has no backend yet/);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
      const [ground, ink] = (await page.evaluate(
        `(() => {
          const canvas = document.body.appendChild(document.createElement('div'));
          canvas.style.cssText = 'background: Canvas';
          return [getComputedStyle(canvas).backgroundColor, getComputedStyle(document.querySelector('p')).color].map((color) =>
            color.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0));
        })()`,
      )) as number[];
      assert.equal((ink ?? 0) > (ground ?? 0), colorScheme === 'dark', `ink ${ink} on ${ground}`);
      const shots = process.env['POSTERN_TEST_SCREENSHOTS'];
      if (shots !== undefined) await page.screenshot({ path: `${shots}/error-${colorScheme}.png` });
      // The browser logs the status itself; a policy violation would be another line.
      assert.deepEqual(
        complaints.filter((text) => !text.includes('503')),
        [],
      );
      await page.close();
    }
  });

  test('the page of a name that nothing serves is readable in light and dark mode', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await (browser ?? assert.fail()).newPage({ colorScheme, viewport: { width: 390, height: 700 } });
      const complaints: string[] = [];
      page.on('console', (message) => complaints.push(message.text()));
      const response = await page.goto(`https://mistyped.tunnels.localhost:${world.port}/`);
      assert.equal(response?.status(), 404);
      assert.equal(await page.locator('h1').textContent(), 'Nothing is here');
      assert.equal(await page.locator('li').count(), 2);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
      const shots = process.env['POSTERN_TEST_SCREENSHOTS'];
      if (shots !== undefined) await page.screenshot({ path: `${shots}/nothing-here-${colorScheme}.png` });
      assert.deepEqual(
        complaints.filter((text) => !text.includes('404')),
        [],
      );
      await page.close();
    }
  });
});
