import { knownAddresses, ownAddresses } from '../../../proxy/acme/orders/dns-diagnosis.ts';
import { restartCommand } from '../../cli/restart/restart-command.ts';
import type { UpPorts } from '../../cli/up/wanted-up.ts';
import { doctorPorts } from './doctor-ports.ts';
import { servicePorts } from './service-ports.ts';

export const upPorts: UpPorts = {
  ...doctorPorts,
  service: servicePorts,
  records: knownAddresses,
  ownAddresses: () => [...ownAddresses()],
  certificateWaitMs: 30_000,
  serve: (args, context) => ({
    ended: import('./server-command.ts').then(({ serverCommand }) => serverCommand.run(args, context)),
    stop: () => {
      process.exitCode = 1;
      process.kill(process.pid, 'SIGTERM');
    },
  }),
  // The settings that find the server are those of the file, not of this shell.
  restart: (dataDir, context) => restartCommand.run(['--data-dir', dataDir], { ...context, env: {} }),
};
