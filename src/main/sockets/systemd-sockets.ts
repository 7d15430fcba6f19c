import { mainErrors } from '../errors.ts';
import type { GivenSocket } from './listening-sockets.ts';

/** The first descriptor that systemd passes: sd_listen_fds(3). */
const FIRST_FD = 3;
const NAMES = ['api', 'edge', 'edge_http', 'tunnel'];

/** Sockets of `.socket` units, by their `FileDescriptorName`. The variables are removed: they are for this process alone. */
export function systemdSockets(env: NodeJS.ProcessEnv, pid = process.pid): readonly GivenSocket[] {
  const { LISTEN_PID: forPid, LISTEN_FDS: count = '0', LISTEN_FDNAMES: names = '' } = env;
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete env[name];
  if (forPid !== String(pid) || !/^\d{1,3}$/.test(count)) return [];
  const given = names.split(':');
  return Array.from({ length: Number(count) }, (_, at) => {
    const name = given[at] ?? '';
    if (NAMES.includes(name)) return { name, fd: FIRST_FD + at, wanted: null, address: null };
    const message = `systemd passed a socket named ${JSON.stringify(name)}: set FileDescriptorName in the .socket unit to one of ${NAMES.join(', ')}`;
    throw mainErrors.create('ERR_POSTERN_LISTEN', message);
  });
}
