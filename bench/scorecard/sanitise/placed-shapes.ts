/** Secrets told by where they stand: keys in files, connection strings, headers, URLs, and the ways that texts carry them. */
import type { ShapeTemplate } from './vendor-shapes';

/** Private keys and the like. */
export const privateKeyShapes: readonly ShapeTemplate[] = [
  [
    'RSA key',
    '-----BEGIN RSA PRIVATE KEY-----\n{!b64}\n{!b64}\n{!b40}==\n-----END RSA PRIVATE KEY-----',
  ],
  ['PKCS 8 key', '-----BEGIN PRIVATE KEY-----\n{!b64}\n{!b64}\n-----END PRIVATE KEY-----'],
  [
    'encrypted key',
    '-----BEGIN ENCRYPTED PRIVATE KEY-----\n{!b64}\n{!b64}\n-----END ENCRYPTED PRIVATE KEY-----',
  ],
  [
    'OpenSSH key',
    '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n{!b70}\n{!b70}\n-----END OPENSSH PRIVATE KEY-----',
  ],
  [
    'PGP key',
    '-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{!b64}\n{!b64}\n=ab12\n-----END PGP PRIVATE KEY BLOCK-----',
  ],
  [
    'key in JSON',
    '{"private_key":"-----BEGIN PRIVATE KEY-----\\n{!b64}\\n{!b64}\\n-----END PRIVATE KEY-----\\n"}',
  ],
  ['key in an env file', 'KEY="-----BEGIN PRIVATE KEY-----\\n{!b64}\\n-----END PRIVATE KEY-----"'],
  [
    'key in CRLF',
    '-----BEGIN RSA PRIVATE KEY-----\r\n{!b64}\r\n{!b64}\r\n-----END RSA PRIVATE KEY-----\r\n',
  ],
  ['key without its end', '-----BEGIN RSA PRIVATE KEY-----\n{!b64}\n{!b64}\n{!b64}'],
  ['key without its beginning', '{!b64}\n{!b64}\n{!b64}\n-----END RSA PRIVATE KEY-----'],
  [
    'key, indented YAML',
    'key: |\n  -----BEGIN PRIVATE KEY-----\n  {!b64}\n  {!b64}\n  -----END PRIVATE KEY-----',
  ],
  [
    'PuTTY key',
    'PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{!b64}\nPrivate-MAC: {!h64}',
  ],
  ['age key', 'AGE-SECRET-KEY-1{!k58}'],
];

/** Connection strings and passwords in URLs. */
export const connectionShapes: readonly ShapeTemplate[] = [
  ['Postgres', 'postgres://app:{!m20}@db.internal:5432/shop'],
  ['Postgres, special characters', 'postgresql://app:{!m10}%40{!m10}@db/shop?sslmode=require'],
  ['MySQL', 'mysql://root:{!m16}@127.0.0.1/app'],
  ['MongoDB', 'mongodb+srv://app:{!m18}@cluster0.abcde.mongodb.net/?retryWrites=true'],
  ['Redis without a user', 'redis://:{!m24}@cache:6379/0'],
  ['AMQP', 'amqps://svc:{!m20}@mq.internal/vhost'],
  ['JDBC', 'jdbc:postgresql://db/shop?user=app&password={!m16}'],
  ['ADO.NET', 'Server=db;Database=shop;User Id=sa;Password={!m16};Encrypt=True'],
  ['libpq', "host=db user=app password='{!m16}' dbname=shop"],
  ['proxy', 'HTTPS_PROXY=http://user:{!m14}@proxy.acme.test:3128'],
  ['git remote', 'fatal: unable to access https://oauth2:{!m20}@git.acme.test/a.git/'],
  ['Sentry DSN with a secret', 'https://{!h32}:{!h32}@o1.ingest.sentry.io/1'],
  ['token as user name', 'https://{!m40}@api.acme.test/v1'],
  ['LDAP', 'ldap://cn=admin:{!m14}@ldap.acme.test'],
];

/** Headers, cookies and query parameters. */
export const headerShapes: readonly ShapeTemplate[] = [
  ['bearer', 'Authorization: Bearer {!w40}'],
  ['basic', 'Authorization: Basic {!b44}='],
  ['bearer in JSON', '{"headers":{"authorization":"Bearer {!w40}"}}'],
  ['bearer in Python', "headers={'Authorization': 'Bearer {!w40}'}"],
  ['token scheme', 'authorization: token {!h40}'],
  ['digest', 'Authorization: Digest username="a", response="{!h32}"'],
  ['API key header', 'x-api-key: {!m32}'],
  ['API key header in JSON', '"X-Api-Key":"{!m32}"'],
  ['cookie', 'Cookie: session={!m40}; theme=dark'],
  ['set-cookie', 'set-cookie: sid=s%3A{!m32}.{!m20}; Path=/; HttpOnly'],
  ['curl user', 'curl -u admin:{!m16} https://acme.test'],
  ['curl header', "curl -H 'Authorization: Bearer {!m32}' https://acme.test"],
  ['key in a query', 'GET https://maps.acme.test/v1?key={!m39}&q=x 403'],
  ['token in a query', 'https://acme.test/cb?access_token={!w60}&state=1'],
  ['code in a query', 'https://acme.test/cb?code={!w40}'],
  ['signature in a query', 'https://s3.acme.test/b/o?X-Amz-Signature={!h64}'],
  ['token in a fragment', 'https://acme.test/#access_token={!w60}'],
  ['JWT', 'eyJhbGciOiJIUzI1NiJ9.eyJ{!w60}.{!w43}'],
  ['JWT in a cookie', 'jwt=eyJhbGciOiJSUzI1NiJ9.eyJ{!w80}.{!w86}'],
];

/** The ways in which files, programs and errors carry a secret. */
export const carriedShapes: readonly ShapeTemplate[] = [
  ['env file', 'DB_PASSWORD={!m20}'],
  ['env file, quoted', 'SECRET_KEY="{!m32}"'],
  ['exported', 'export API_TOKEN={!m32}'],
  ['YAML', 'database:\n  password: {!m20}'],
  ['TOML', 'api_key = "{!m32}"'],
  ['INI', '[smtp]\npasswd={!m16}'],
  ['properties', 'spring.datasource.password={!m16}'],
  ['XML', '<add key="Password" value="{!m20}" />'],
  ['JSON, escaped in JSON', '{"body":"{\\"api_key\\":\\"{!m32}\\"}"}'],
  ['JavaScript', "const client = new Client({ apiKey: '{!m32}' });"],
  ['Python', "client = Client(api_key='{!m32}')"],
  ['PHP', "'secret_key' => '{!m32}'"],
  ['Go', 'token := "{!m32}"'],
  ['command line', 'mytool --token={!m32} run'],
  ['command line, parted', 'mytool --api-key {!m32} run'],
  ['Kubernetes secret', 'apiVersion: v1\nkind: Secret\ndata:\n  password: {!b40}=='],
  [
    'stack trace',
    "Error: login failed with password='{!m20}'\n    at login (/home/ann/app/src/db.ts:12:5)\n    at main (/home/ann/app/src/index.ts:3:1)",
  ],
  ['URL-encoded', 'redirect=https%3A%2F%2Facme.test%2F%3Faccess_token%3D{!m40}'],
  ['base64 of basic auth in a URL', 'https://acme.test/?auth={!b44}='],
  ['split by a zero-width character', 'ghp_{!m18}\u200b{!m18}'],
  ['split by a color', 'ghp_\u001b[31m{!m36}\u001b[0m'],
  ['split by a soft hyphen', 'sk-ant-api03-{!m40}\u00ad{!m40}'],
  ['in a diff', '-API_KEY={!m32}\n+API_KEY=changed'],
  ['in a log line', '2026-01-01 12:00:00 DEBUG auth token={!m40} user=ann'],
];
