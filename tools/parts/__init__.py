"""Real parts for tests and the demo: a Java, a Kafka broker, a schema registry and S3 servers, each in a process of its
own.

java     find_java() -> Java
kafka    KafkaBroker; kafka_cluster: KafkaCluster, three of them
registry SchemaRegistry
s3       MotoServer, VersityGateway
toxiproxy Toxiproxy, and a ProxiedBroker behind it

Every part listens on 127.0.0.1 on a free port, keeps its data in a folder of its own under the system's temporary
folder, and is gone, folder included, when it is stopped or when the process that started it ends in any way.
What has to be downloaded or built stays in the cache: KAFKA_S3_CACHE, or .cache in the repository.
"""
