import fastify from 'fastify';

/** The baseline: one Fastify route that sends the same bytes with the same headers and does nothing else. */
const { BODY: body = '', HEADERS: headers = '{}' } = process.env;
const fixed = JSON.parse(headers) as Record<string, string>;
const app = fastify({ logger: false });
app.get('/module', (_request, reply) => {
  reply.headers(fixed);
  return reply.send(body);
});
const address = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(
  `${JSON.stringify({ addresses: { api: address.replace('http://', '') }, msg: 'ready' }).replace('"msg"', '"msg"')}\n`,
);
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)));
