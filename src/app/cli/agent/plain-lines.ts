import type { AgentEvent } from '../../../tunnel/agent/handle.ts';
import { printable } from '../output/cell-text.ts';
import type { Reporter } from './agent-state.ts';
import { LOG_LEVELS } from './agent-syntax.ts';
import {
  commandText,
  durationText,
  nodesText,
  publicName,
  STOPPED_BY_SERVER,
  type StatusHistory,
  statusText,
  unboundText,
} from './event-text.ts';
import type { LogFormat, LogLevel } from './run-options.ts';

const REMIND_AFTER_MS = 60_000;

interface Line {
  readonly level: LogLevel;
  readonly message: string;
  /** For programs: in text output the message already contains them. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface PlainLinesOptions {
  readonly format: LogFormat;
  readonly level: LogLevel;
  readonly serverAddr: string;
  readonly print: (line: string) => void;
  /** See CommandContext. */
  readonly describeDropped?: ((lineOf: (count: number) => string) => void) | undefined;
  readonly nowMs: () => number;
}

/** One line per event, for a journal. */
export function plainLines(options: PlainLinesOptions): Reporter {
  const { format, level, serverAddr, print, nowMs } = options;
  let before: StatusHistory = { wasOnline: false, last: null };
  let told: { readonly reason: string; readonly atMs: number } | null = null;
  /** Retries come fast at first and may continue for days: the same reason is not repeated. */
  const isRepeated = (event: AgentEvent): boolean => {
    if (event.type !== 'status') return false;
    const { status, reason } = event;
    if (reason === null || status === 'online' || status === 'stopped') {
      told = null;
      return false;
    }
    if (told?.reason === reason && nowMs() - told.atMs < REMIND_AFTER_MS) return true;
    told = { reason, atMs: nowMs() };
    return false;
  };
  const textOf = (line: Line): string => {
    const time = new Date(nowMs()).toISOString();
    return format === 'json'
      ? JSON.stringify({ level: line.level, time, msg: line.message, ...line.fields })
      : `${time.slice(11, 19)} ${line.level.padEnd(5)} ${line.message}`;
  };
  const put = (line: Line): void => {
    if (LOG_LEVELS.indexOf(line.level) >= LOG_LEVELS.indexOf(level)) print(textOf(line));
  };
  options.describeDropped?.((count) => textOf(droppedLines(count)));
  return {
    started: () => {},
    event: (event) => {
      const line = lineOf(event, serverAddr, before);
      put(isRepeated(event) ? { ...line, level: 'debug' } : line);
      if (event.type === 'status') {
        before = { wasOnline: before.wasOnline || event.status === 'online', last: event.status };
      }
    },
    note: (noted, message, fields = {}) => put({ level: noted, message, fields }),
    stopping: () => put({ level: 'info', message: 'stopping after open requests finish', fields: {} }),
    end: () => {},
  };
}

function lineOf(event: AgentEvent, serverAddr: string, before: StatusHistory): Line {
  switch (event.type) {
    case 'status': {
      const { status, reason, code, nextTryMs, region } = event;
      const fields = { event: 'status', status, server_addr: serverAddr, reason, code, next_try_ms: nextTryMs, region };
      return {
        level: statusLevel(event),
        message: statusText(event, serverAddr, before),
        fields: withoutNulls(fields),
      };
    }
    case 'bound': {
      const { name, id, publicUrl: url, labels, forwardsTo } = event.tunnel;
      const fields = withoutNulls({ event: 'bound', tunnel: name, id, url, labels, forwards_to: forwardsTo });
      return {
        level: 'info',
        message: `${printable(name)}: ${publicName(event.tunnel)} → ${printable(forwardsTo)}`,
        fields,
      };
    }
    case 'unbound': {
      const { tunnel, code, message, retry } = event;
      const fields = { event: 'unbound', tunnel: tunnel.name, code, reason: message, retry };
      return { level: retry ? 'warn' : 'error', message: `${printable(tunnel.name)}: ${unboundText(event)}`, fields };
    }
    case 'request': {
      const { tunnel, method, path, status, durationMs, bytesIn, bytesOut, problem } = event;
      const what = `${printable(method)} ${printable(path)} ${status === 0 ? 'aborted' : status} ${durationText(durationMs)}`;
      const fields = {
        event: 'request',
        tunnel: tunnel.name,
        method,
        path,
        status,
        duration_ms: Math.round(durationMs * 10) / 10,
        bytes_in: bytesIn,
        bytes_out: bytesOut,
        problem,
      };
      const message = `${printable(tunnel.name)}: ${what}${problem === null ? '' : `: ${printable(problem)}`}`;
      return { level: problem === null ? 'info' : 'warn', message, fields: withoutNulls(fields) };
    }
    case 'connection': {
      const { tunnel, phase, clientAddress, problem } = event;
      const level = phase === 'failed' ? 'warn' : phase === 'opened' ? 'info' : 'debug';
      const why = problem === null ? '' : `: ${printable(problem)}`;
      const message = `${printable(tunnel.name)}: connection from ${printable(clientAddress)} ${phase}${why}`;
      const fields = { event: 'connection', tunnel: tunnel.name, phase, client_address: clientAddress, problem };
      return { level, message, fields: withoutNulls(fields) };
    }
    case 'nodes': {
      const names = event.nodes.map(({ name }) => name);
      return { level: 'info', message: nodesText(event), fields: { event: 'nodes', nodes: names } };
    }
    case 'command': {
      const fields = { event: 'command', command: event.command, accepted: event.isAccepted };
      return {
        level: event.isAccepted && event.command !== 'update' ? 'info' : 'warn',
        message: commandText(event),
        fields,
      };
    }
  }
}

function droppedLines(count: number): Line {
  const message = `${count} lines dropped because standard output was not read fast enough`;
  return { level: 'warn', message, fields: { event: 'dropped', count } };
}

function statusLevel({ status, reason, code }: Extract<AgentEvent, { type: 'status' }>): LogLevel {
  if (status === 'stopped') return reason === null || code === STOPPED_BY_SERVER ? 'info' : 'error';
  return status === 'online' || reason === null ? 'info' : 'warn';
}

function withoutNulls(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
