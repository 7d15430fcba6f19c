// Loaded into server processes with --import. The file HANDOVER_FAULT says who is killed at which message of a
// handover: "new prepared" is the process that takes over, when it has sent that, and "old prepared" is the one before
// it. "new loading" is before all messages. HANDOVER_FAULT.pids lists the processes that were started to take over.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const { HANDOVER_FAULT: file = '', POSTERN_HANDOVER: takesOver } = process.env;

if (isMainThread && takesOver !== undefined) {
  appendFileSync(`${file}.pids`, `${process.pid}\n`);
  const { send } = process;
  process.send = (message, ...rest) => {
    const isSent = Reflect.apply(send, process, [message, ...rest]);
    at(message.t);
    return isSent;
  };
  at('loading');
}

function at(step) {
  const fault = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (fault === `new ${step}`) process.kill(process.pid, 'SIGKILL');
  if (fault === `old ${step}` && process.ppid !== 1) process.kill(process.ppid, 'SIGKILL');
}
