import { after } from 'node:test';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { chromiumPath, launchChromium } from '../../support/chromium.ts';
import { serveBrowserSite } from '../../support/clients/browser-site.ts';
import { browserSuite } from '../../support/clients/browser-suite.ts';
import { firstOf } from '../../support/share-of-cases.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { bothWays } from './ways.ts';

const executablePath = chromiumPath();
if (executablePath === null) console.error('\n!! chromium is not on the PATH: tunnels are NOT tested with a browser\n');

const local = await recordingUpstream({ after });
serveBrowserSite(local);
const world = await TunnelWorld.open({ after });
const ways = await bothWays(world, { addr: local.address });
const browser = executablePath === null ? null : await launchChromium({ after }, executablePath, world.edge.ca);

for (const way of firstOf(ways.toReversed())) browserSuite({ ...way, browser });
