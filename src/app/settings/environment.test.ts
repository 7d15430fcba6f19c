import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { checkVariables } from './environment.ts';
import { foreignApiUrl, type LoadedConfig, loadConfig } from './load.ts';
import { printConfig } from './print.ts';

suite('variables that Kubernetes injects for a Service', () => {
  const injected = {
    POSTERN_SERVICE_HOST: '10.0.0.11',
    POSTERN_SERVICE_PORT: '443',
    POSTERN_SERVICE_PORT_HTTPS: '443',
    POSTERN_PORT: 'tcp://10.0.0.11:443',
    POSTERN_PORT_443_TCP: 'tcp://10.0.0.11:443',
    POSTERN_PORT_443_TCP_PROTO: 'tcp',
    POSTERN_PORT_443_TCP_PORT: '443',
    POSTERN_PORT_443_TCP_ADDR: '10.0.0.11',
    POSTERN_API_SERVICE_HOST: '10.0.0.12',
    POSTERN_API_PORT_7080_TCP_ADDR: '10.0.0.12',
  };

  test('are ignored with one warning that names them', () => {
    const [warning = '', ...others] = checkVariables(injected);
    assert.deepEqual(others, []);
    for (const name of Object.keys(injected)) assert.match(warning, new RegExp(`\\b${name}\\b`));
    assert.match(warning, /enableServiceLinks: false/);
  });

  test('reach the caller of loadConfig, and change no setting', () => {
    const { config, warnings } = loadConfig({ flags: new Map(), env: injected });
    assert.deepEqual(config, loadConfig({ flags: new Map(), env: {} }).config);
    assert.equal(warnings.length, 1);
  });
});

test('a misspelled variable is still rejected beside them', () => {
  const env = { POSTERN_SERVICE_HOST: '10.0.0.11', POSTERN_TCP_PORT: 'x', POSTERN_DOMIAN: 'x' };
  assert.throws(
    () => checkVariables(env),
    /unknown environment variable POSTERN_DOMIAN.*Did you mean "POSTERN_DOMAIN"/,
  );
});

test("the command line's own variables are known", () => {
  assert.deepEqual(checkVariables({ POSTERN_CLI_API_URL: 'http://127.0.0.1:1', POSTERN_CLI_API_KEY: 'x' }), []);
});

suite('POSTERN_API_URL of another server on this machine', () => {
  const warningsFor = (url: string, listen = '127.0.0.1:7080'): readonly string[] =>
    foreignApiUrl(loadConfig({ flags: new Map(), env: { POSTERN_API_URL: url, POSTERN_API_LISTEN: listen } }));

  test('is pointed out, because every uri would start with it', () => {
    assert.match(warningsFor('http://127.0.0.1:9080')[0] ?? '', /port 7080.*POSTERN_CLI_API_URL/);
    assert.match(warningsFor('http://[::1]:9080')[0] ?? '', /port 7080/);
  });

  test('gives no warning when it fits, is public, or the port is not known yet', () => {
    assert.deepEqual(warningsFor('http://localhost:7080'), []);
    assert.deepEqual(warningsFor('https://api.example.com'), []);
    assert.deepEqual(warningsFor('http://127.0.0.1:9080', '127.0.0.1:0'), []);
  });
});

type Variables = Readonly<Record<string, string>>;

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

function load(env: Variables, flags: Variables = {}): LoadedConfig {
  return loadConfig({ flags: new Map(Object.entries(flags)), env });
}

function warningsOf(env: Variables): string {
  return load({ ...ENDPOINT, ...env }).warnings.join('\n');
}

suite('variables of OpenTelemetry', () => {
  test('turn traces on, and --print-config says so', () => {
    const loaded = load({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20s3cret%2C1, x-team=edge',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_SERVICE_NAME: 'shop edge',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=prod,team=a%2Cb',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
    });
    const { config } = loaded;
    assert.equal(config.otel_endpoint, 'http://collector:4318');
    assert.deepEqual(config.otel_headers, [
      ['authorization', 'Bearer s3cret,1'],
      ['x-team', 'edge'],
    ]);
    assert.equal(config.otel_protocol, 'http/json');
    assert.equal(config.otel_service_name, 'shop edge');
    assert.deepEqual(config.otel_resource_attributes, [
      ['deployment.environment.name', 'prod'],
      ['team', 'a,b'],
    ]);
    assert.equal(config.otel_sample_ratio, 0.25);
    assert.deepEqual(loaded.warnings, []);
    const printed = printConfig(loaded);
    assert.match(printed, /^otel_endpoint: http:\/\/collector:4318 # variable OTEL_EXPORTER_OTLP_ENDPOINT$/m);
    assert.match(printed, /^otel_sample_ratio: 0\.25 # variable OTEL_TRACES_SAMPLER$/m);
    assert.match(printed, /^otel_resource_attributes: .*team=a%2Cb/m);
    assert.doesNotMatch(printed, /s3cret/);
  });

  test('of traces come before those of all signals, and their endpoint is a whole URL', () => {
    const { config } = load({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/in/',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'b=2',
    });
    assert.deepEqual([config.otel_traces_endpoint, config.otel_endpoint], ['https://traces.example/in/', null]);
    assert.deepEqual([config.otel_protocol, config.otel_headers], ['http/protobuf', [['b', '2']]]);
  });

  test('give way to flags, POSTERN_ variables and lines of the file', () => {
    const env = {
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://other:4318/x',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1',
      OTEL_SERVICE_NAME: 'theirs',
      OTEL_TRACES_SAMPLER: 'always_off',
      POSTERN_OTEL_PROTOCOL: 'http/protobuf',
      POSTERN_OTEL_SERVICE_NAME: 'ours',
      POSTERN_CONFIG: 'file.yaml',
    };
    const flags = new Map([['otel-sample-ratio', '0.5']]);
    const { config } = loadConfig({ flags, env, readText: () => 'otel_endpoint: http://own:4318\n' });
    const { otel_endpoint, otel_traces_endpoint, otel_protocol, otel_service_name, otel_sample_ratio } = config;
    assert.deepEqual([otel_endpoint, otel_traces_endpoint], ['http://own:4318', null]);
    assert.deepEqual([otel_protocol, otel_service_name, otel_sample_ratio], ['http/protobuf', 'ours', 0.5]);
    assert.deepEqual(config.otel_headers, [['a', '1']]);
  });

  test('without an endpoint change nothing', () => {
    const loaded = load({
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_SERVICE_NAME: 'x',
    });
    assert.deepEqual([loaded.config.otel_endpoint, loaded.config.otel_headers], [null, null]);
    assert.deepEqual(loaded.warnings, []);
  });

  for (const [sampler, argument, ratio] of [
    ['always_on', '0.5', 1],
    ['always_off', '', 0],
    ['traceidratio', '', 1],
    ['traceidratio', '.5', 0.5],
    ['traceidratio', '0', 0],
    ['parentbased_always_on', '', 1],
    ['parentbased_always_off', '', 0],
  ] as const)
    test(`${sampler} with ${JSON.stringify(argument)} records ${ratio}`, () => {
      const env = { ...ENDPOINT, OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument };
      assert.equal(load(env).config.otel_sample_ratio, ratio);
    });

  for (const [name, value, warning] of [
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote', /OTEL_TRACES_SAMPLER.*"jaeger_remote"/],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'http/xml', /OTEL_EXPORTER_OTLP_PROTOCOL.*"http\/xml"/],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=s3cret%', /OTEL_EXPORTER_OTLP_HEADERS/],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'host=s3cret', /OTEL_EXPORTER_OTLP_HEADERS/],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=s3cret%0d%0ab', /OTEL_EXPORTER_OTLP_HEADERS/],
    ['OTEL_RESOURCE_ATTRIBUTES', 'a=1,b', /OTEL_RESOURCE_ATTRIBUTES/],
  ] as const)
    test(`${name} with an unusable value (${value}) is ignored with a warning`, () => {
      assert.match(warningsOf({ [name]: value }), warning);
      assert.doesNotMatch(warningsOf({ [name]: value }), /s3cret/);
    });

  test('an unusable argument of a sampler is ignored with a warning', () => {
    const env = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1.5' };
    assert.match(warningsOf(env), /OTEL_TRACES_SAMPLER_ARG.*from 0 to 1/);
  });

  test('grpc is an error that names the protocol and the port to use', () => {
    for (const protocol of [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, { POSTERN_OTEL_PROTOCOL: 'grpc' }])
      assert.throws(
        () => load({ ...ENDPOINT, ...protocol }),
        /OTEL_.*PROTOCOL.*grpc is not supported.*http\/protobuf.*4318/,
      );
  });

  test('an endpoint that is no URL is an error', () => {
    assert.throws(
      () => load({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }),
      /variable OTEL_EXPORTER_OTLP_ENDPOINT.*http:\/\//,
    );
  });

  test('turn traces off, also those of our own settings', () => {
    const off = load({ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
    assert.deepEqual([off.config.otel_endpoint, off.warnings], [null, []]);
    const own = load({
      OTEL_SDK_DISABLED: 'true',
      POSTERN_OTEL_ENDPOINT: 'http://own:4318',
      POSTERN_OTEL_HEADERS: 'a=b',
    });
    assert.equal(own.config.otel_endpoint, null);
    assert.match(own.warnings.join(), /OTEL_SDK_DISABLED is true: no traces/);
    assert.equal(load({ ...ENDPOINT, OTEL_SDK_DISABLED: 'yes' }).config.otel_endpoint, 'http://collector:4318');
    assert.equal(load({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }).config.otel_endpoint, null);
    assert.match(warningsOf({ OTEL_TRACES_EXPORTER: 'zipkin' }), /OTEL_TRACES_EXPORTER is "zipkin"/);
  });
});
