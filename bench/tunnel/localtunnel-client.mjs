import { createRequire } from 'node:module';
import { join } from 'node:path';

// A foreign client in its own program: folder of its packages, port of its server, port of the service, name.
const [packages, serverPort, port, subdomain] = process.argv.slice(2);
const localtunnel = createRequire(join(packages, 'localtunnel', 'package.json'))('localtunnel');
await localtunnel({ host: `http://localhost:${serverPort}`, local_host: '127.0.0.1', port: Number(port), subdomain });
