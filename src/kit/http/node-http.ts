/**
 * The values of node:http without its ES module: making that one reads all exports, and one of them (`WebSocket`) loads
 * undici, which takes 16 MB and 30 ms in every process. Types come from node:http as usual.
 */
const http = process.getBuiltinModule('node:http');

export const { Agent, METHODS, STATUS_CODES, createServer, get, request } = http;
