import { after } from 'node:test';
import { eventSourceSuite } from '../../support/clients/event-source-suite.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { isLong } from '../../support/share-of-cases.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';

const upstream = await recordingUpstream({ after });
const edge = await EdgeWorld.open({ after });
const backend = await edge.staticBackend(upstream.address);
const plain = await edge.site(backend);
const compressed = await edge.site(backend);
await edge.api('PUT', `${compressed.routePath}/compression`, {});

if (isLong) eventSourceSuite({ name: 'the edge', edge, host: plain.host, isCompressed: false, upstream });
eventSourceSuite({ name: 'the edge with compression on', edge, host: compressed.host, isCompressed: true, upstream });
