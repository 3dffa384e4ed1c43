/** Shapes that the attacks of the 0.3.0 review named, variables of further services, and vendors' tokens in what carries them. */
import type { ShapeTemplate } from './vendor-shapes';
import { cloudShapes, developerShapes, modelVendorShapes, serviceShapes } from './vendor-shapes';

/** Files and commands of databases, shells and programs. */
const programShapes: readonly ShapeTemplate[] = [
  ['.pgpass', 'db.internal:5432:shop:joe:{!m20}'],
  ['.pgpass, any host', '*:*:*:joe:{!m20}'],
  ['.netrc', 'machine api.acme.test login joe password {!m20}'],
  ['.netrc, parted', 'machine api.acme.test\n  login joe\n  password {!m20}'],
  ['PGPASSWORD', "PGPASSWORD='{!m16}' psql -h db"],
  ['MYSQL_PWD', 'MYSQL_PWD={!m16} mysql shop'],
  ['password of digits', 'amqp://svc:{!d12}/x@mq.internal'],
  ['Redis with a user', 'rediss://svc:{!m18}@cache.internal:6380/1'],
  ['FTP', 'ftp://joe:{!m12}@files.acme.test/in'],
  ['SMTP', 'smtps://mail:{!m16}@smtp.acme.test:465'],
  ['IMAP', 'imaps://joe:{!m16}@imap.acme.test'],
  ['LDAP with a user', 'ldaps://svc:{!m16}@ldap.acme.test'],
  ['JDBC of Oracle', 'jdbc:oracle:thin:scott/{!m16}@//db.internal:1521/x'],
  ['SQL, identified by', "CREATE USER joe IDENTIFIED BY '{!m16}'"],
  [
    'SQL, identified with',
    "ALTER USER 'joe'@'%' IDENTIFIED WITH caching_sha2_password BY '{!m16}'",
  ],
  ['SQL, with password', "ALTER USER joe WITH PASSWORD '{!m16}'"],
  ['Cassandra', "CREATE ROLE joe WITH PASSWORD = '{!m16}' AND LOGIN = true"],
  ['MongoDB shell', 'mongosh --username joe --password {!m16} shop'],
  ['Terraform variable', 'variable "db_password" {\n  type    = string\n  default = "{!m20}"\n}'],
  ['Terraform value', 'resource "x" "y" {\n  password = "{!m20}"\n}'],
  ['Terraform file', 'master_password = "{!m20}"'],
  ['Kubernetes stringData', 'kind: Secret\nstringData:\n  password: {!m20}'],
  ['sudo by a pipe', 'echo {!m16} | sudo -S systemctl restart app'],
  ['docker login by a pipe', 'echo "{!m24}" | docker login -u joe --password-stdin'],
  ['docker run', 'docker run -e DB_PASSWORD={!m20} acme/app'],
  ['mysqldump', 'mysqldump --password={!m16} shop'],
  ['sshpass', "sshpass -p '{!m16}' ssh joe@host"],
  ['PHP constant', "define('DB_PASSWORD', '{!m20}');"],
  ['WordPress key', "define( 'AUTH_KEY', '{!m64}' );"],
  ['list in JSON', '{"password":["{!m20}"]}'],
  ['object in JSON', '{"password":{"value":"{!m20}"}}'],
  ['object in objects', '{"secret":{"a":{"b":"{!m20}"}}}'],
  ['pair in a list', '["DB_PASSWORD","{!m20}"]'],
  ['key and val', '[{"key":"password","val":"{!m20}"}]'],
  ['name and value', '[{"name":"API_TOKEN","value":"{!m20}"}]'],
  ['name and value in YAML', '- name: API_SECRET\n  value: {!m20}'],
  ['one-time seed', 'TOTP seed: {!u32}'],
  ['one-time seed in a URL', 'otpauth://totp/x?secret={!u16}'],
  ['Wi-Fi', 'network={\n  ssid="home"\n  psk="{!m12}"\n}'],
  ['WireGuard', '[Interface]\nPrivateKey = {!b43}='],
  ['X-Auth', 'X-Auth: {!m24}'],
  ['X-Auth-Token', 'X-Auth-Token: {!m32}'],
  ['Azure gateway header', 'Ocp-Apim-Subscription-Key: {!h32}'],
  ['Google header', 'x-goog-api-key: {!m39}'],
  ['pair of a cloud', 'AKIA{!u16},{!b40}'],
  ['cookie of Slack', 'd=xoxd-{!m60}'],
  ['URL within a URL', 'next=https%3A%2F%2Fjoe%3A{!m20}%40acme.test%2Fx'],
  ['JSON in JSON in JSON', String.raw`"{\"a\":\"{\\\"apiKey\\\":\\\"{!m24}\\\"}\"}"`],
  [
    'JSON four times',
    String.raw`"\"{\\\"a\\\":\\\"{\\\\\\\"apiKey\\\\\\\":\\\\\\\"{!m24}\\\\\\\"}\\\"}\""`,
  ],
  ['Ruby', ':password => "{!m20}"'],
  ['Gradle', 'signing.password={!m20}'],
  ['.pypirc', '[pypi]\nusername = joe\npassword = {!m20}'],
  ['shadow file', 'root:$6${m8}${!m86}:19000:0:99999:7:::'],
  ['htpasswd', 'joe:$apr1${m8}${!m22}'],
  ['bcrypt', '$2b$12${!m53}'],
  ['Argon2', '$argon2id$v=19$m=65536,t=3,p=4${m22}${!m43}'],
];

/** Keys that are cut, quoted or marked, and keys without their first line. */
const keyShapes: readonly ShapeTemplate[] = [
  [
    'quoted key',
    '> -----BEGIN RSA PRIVATE KEY-----\n> {!b64}\n> {!b64}\n> -----END RSA PRIVATE KEY-----',
  ],
  ['quoted key, cut', '> -----BEGIN RSA PRIVATE KEY-----\n> {!b64}\n> {!b64}\n'],
  ['key in a diff, cut', '+-----BEGIN PRIVATE KEY-----\n+{!b64}\n+{!b64}\n'],
  ['key with numbers, cut', '1\t-----BEGIN PRIVATE KEY-----\n2\t{!b64}\n3\t{!b64}\n'],
  [
    'key found by grep, cut',
    'k.pem:1:-----BEGIN PRIVATE KEY-----\nk.pem:2:{!b64}\nk.pem:3:{!b64}\n',
  ],
  [
    'end of a key found by grep',
    'k.pem:2:{!b64}\nk.pem:3:{!b64}\nk.pem:4:-----END PRIVATE KEY-----',
  ],
  ['end of a numbered key', '2: {!b64}\n3: {!b64}\n4: -----END PRIVATE KEY-----'],
  [
    'encrypted key, cut',
    '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{h32}\n\n{!b64}\n{!b64}\n',
  ],
  ['PGP key, cut', '-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n{!b64}\n{!b64}\n'],
  ['key on one line', '-----BEGIN PRIVATE KEY----- {!b64} {!b64} -----END PRIVATE KEY-----'],
  ['body of an RSA key', 'MIIEowIBAAKCAQEA{!b48}\n{!b64}\n{!b64}'],
  ['body of a PKCS 8 key', 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{!b32}\n{!b64}\n{!b64}'],
];

/** Tokens with what a reader does not see in their middle. */
const hiddenShapes: readonly ShapeTemplate[] = [
  ['variation selector 16', 'ghp_{!m18}\ufe0f{!m18}'],
  ['variation selector 1', 'ghp_{!m18}\ufe00{!m18}'],
  ['Braille blank', 'sk-ant-api03-{!m40}\u2800{!m40}'],
  ['zero-width joiner', 'glpat-{!m10}\u200d{!m10}'],
  ['word joiner', 'hf_{!m17}\u2060{!m17}'],
  ['byte order mark', 'gsk_{!m26}\ufeff{!m26}'],
  ['bidi mark', 'xai-{!m40}\u200e{!m40}'],
  ['tag', 'npm_{!m18}\u{e0041}{!m18}'],
  ['Hangul filler', 'AIzaSy{!w16}\u3164{!w17}'],
  ['backspace', 'sk_live_{!m12}\b{!m12}'],
  ['hyperlink', 'dop_v1_{!h32}\u001b]8;;http://x.test\u0007{!h32}'],
  ['supplementary selector', 'r8_{!m18}\u{e0101}{!m19}'],
];

/** Variables by which programs get the keys of further services. */
const variables =
  'ADAFRUIT_IO_API_KEY ALGOLIA_ADMIN_API_KEY ASANA_CLIENT_SECRET ATLASSIAN_API_TOKEN AUTH0_CLIENT_SECRET BITBUCKET_CLIENT_SECRET CODECOV_TOKEN COINBASE_API_SECRET CONFLUENT_SECRET_KEY CONTENTFUL_ACCESS_TOKEN COHERE_API_KEY DATADOG_API_KEY DEEPGRAM_API_KEY DRONECI_TOKEN DROPBOX_API_SECRET ETSY_ACCESS_TOKEN FASTLY_API_TOKEN FINNHUB_API_KEY FLICKR_ACCESS_TOKEN FRESHBOOKS_ACCESS_TOKEN GITTER_ACCESS_TOKEN INTERCOM_API_KEY KRAKEN_ACCESS_TOKEN KUCOIN_SECRET_KEY LAUNCHDARKLY_ACCESS_TOKEN LINKEDIN_CLIENT_SECRET LOB_API_KEY MAILGUN_SIGNING_KEY MAPTILER_API_KEY MATTERMOST_ACCESS_TOKEN MESSAGEBIRD_API_TOKEN NYTIMES_ACCESS_TOKEN OKTA_ACCESS_TOKEN PLAID_SECRET_KEY PUSHER_APP_SECRET RAPIDAPI_ACCESS_TOKEN SENDBIRD_ACCESS_TOKEN SNYK_API_TOKEN SONAR_API_TOKEN SPOTIFY_CLIENT_SECRET SUMOLOGIC_ACCESS_TOKEN TRAVISCI_ACCESS_TOKEN TRELLO_ACCESS_TOKEN TWITCH_API_TOKEN TWITTER_API_SECRET YANDEX_API_KEY ZENDESK_SECRET_KEY ZOOM_CLIENT_SECRET'.split(
    ' ',
  );
/** The ways in which they are set, in turn. */
const settings: readonly ((name: string) => string)[] = [
  (name) => `${name}={!m40}`,
  (name) => `export ${name}="{!l32}"`,
  (name) => `    ${name}: {!h40}`,
  (name) => `process.env.${name} = '{!m32}';`,
  (name) => `{"env":{"${name}":"{!w36}"}}`,
  (name) => `$env:${name} = "{!m28}"`,
];

/** What a token stands in, in turn. */
const carriers: readonly (readonly [string, (token: string) => string])[] = [
  ['in Markdown', (token) => `Use \`${token}\` for it.`],
  ['in HTML', (token) => `<code>${token}</code>`],
  ['numbered', (token) => `    12\t${token}`],
  ['found by grep', (token) => `src/a.ts:12: ${token}`],
  ['in color', (token) => `\u001b[32m${token}\u001b[0m`],
  ['in a table', (token) => `| key | ${token} |`],
  ['in a comment', (token) => `// TODO remove: ${token}`],
  ['in a diff', (token) => `-${token}\n+gone`],
  ['in a list', (token) => `1. ${token};\n2. nothing`],
  ['in parentheses', (token) => `see (${token})`],
];

/** Tokens of one line that stand for themselves, without words that a carrier could break. */
const bareTokens = [
  ...modelVendorShapes,
  ...cloudShapes,
  ...developerShapes,
  ...serviceShapes,
].filter(([, template]) => /^[\w.-]*\{![a-z]\d+\}[\w.-]*$/.test(template));

const carriedTokens = bareTokens.map(([name, template], index): ShapeTemplate => {
  const [way, carry] = carriers[index % carriers.length] ?? ['', (token: string) => token];
  return [`${name} ${way}`, carry(template)];
});

const setVariables = variables.map((name, index): ShapeTemplate => {
  const set = settings[index % settings.length] ?? ((each: string) => each);
  return [name, set(name)];
});

/** All of them. */
export const furtherShapes: readonly ShapeTemplate[] = [
  ...programShapes,
  ...keyShapes,
  ...hiddenShapes,
  ...setVariables,
  ...carriedTokens,
];
