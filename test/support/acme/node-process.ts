import { openNode } from './manager-world.ts';

/** Orders certificates for hosts until it is killed: `node-process.ts DATA_DIR DIRECTORY_URL CA_FILE HOST…`. */
const [dataDir = '', directoryUrl = '', caFile = '', ...hosts] = process.argv.slice(2);
const server = { directoryUrl, caFile } as never;
const node = await openNode({ after: () => {} }, { servers: [server], dataDir });
if ([...node.replica.all('https_edge')].length === 0) await node.edge(...hosts);
// Ends with the parent.
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
process.stdout.write('ready\n');
